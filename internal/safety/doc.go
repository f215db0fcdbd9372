// Package safety decides what may become a memory and what a model may see. It finds secrets, personal data,
// instructions to a model and markup in texts, masks or refuses them, and verifies what a model cites.
package safety
