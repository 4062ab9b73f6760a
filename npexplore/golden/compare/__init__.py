"""Two routers' outputs compared: what is free left out, the first difference named with its clause."""
