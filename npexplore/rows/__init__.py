"""Builds the rows that the event engine interprets: expressions, servers, random times, disciplines, the assembler."""
