"""What the event engine runs, row by row: expressions, servers, random times, and the assembler of rows."""
