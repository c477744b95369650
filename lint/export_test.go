package lint

// SchemaOfExamples returns the statements that define the tables of the examples in a dialect.
func SchemaOfExamples(d string) string { return exampleSchema(d) }
