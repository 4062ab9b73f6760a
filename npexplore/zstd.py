"""Zstandard (RFC 8878): the standard library's since Python 3.14, before that its backport, with the same names."""

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import CompressionParameter, ZstdDecompressor, ZstdError, compress, decompress
else:
    from backports.zstd import CompressionParameter, ZstdDecompressor, ZstdError, compress, decompress

__all__ = ["CompressionParameter", "ZstdDecompressor", "ZstdError", "compress", "decompress"]
