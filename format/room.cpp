// Removed with the room's first source file.
