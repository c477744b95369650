package verb

// ConfigError is the error of a DSN or of options that are wrong as written: nothing was tried.
type ConfigError string

// Error implements error.
func (m ConfigError) Error() string { return string(m) }

// Misconfigured tells programs that the DSN or the options are wrong; semel looks for it.
func (ConfigError) Misconfigured() {}
