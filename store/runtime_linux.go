package store

// maxSocketPath is sizeof(sun_path) less the closing NUL, in bytes.
const maxSocketPath = 107
