"""PostgreSQL as the engine: the records of many spaces in one database, whose keys begin with the space."""
