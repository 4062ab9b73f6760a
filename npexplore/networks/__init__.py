"""Users' own networks of stations (models/networks/*.toml): what describes them, and what answers them."""
