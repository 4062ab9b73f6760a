"""Zstandard (RFC 8878): the standard library's module since Python 3.14, before that a backport with the same names."""

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import CompressionParameter as CompressionParameter
    from compression.zstd import ZstdDecompressor as ZstdDecompressor
    from compression.zstd import ZstdError as ZstdError
    from compression.zstd import compress as compress
    from compression.zstd import decompress as decompress
else:
    from backports.zstd import CompressionParameter as CompressionParameter
    from backports.zstd import ZstdDecompressor as ZstdDecompressor
    from backports.zstd import ZstdError as ZstdError
    from backports.zstd import compress as compress
    from backports.zstd import decompress as decompress
