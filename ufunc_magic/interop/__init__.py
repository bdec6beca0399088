"""Other libraries' functions and arrays, each library imported only where it is used."""
