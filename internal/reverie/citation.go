package reverie

// Citation is evidence as a model claims it: a message by its number in the
// question, and words that should stand in it, "" where none are quoted.
type Citation struct {
	Message string
	Quote   string
}
