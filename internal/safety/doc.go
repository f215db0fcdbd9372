// Package safety says what may become a memory, and what a model may be shown: it finds
// secrets, personal data, instructions addressed to a model and markup in texts, masks or
// refuses them, and verifies what a model cites.
package safety
