"""Two routers' outputs compared, except where both may differ; the first difference is named with its clause."""
