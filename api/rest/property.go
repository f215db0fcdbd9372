package rest

// properties say what the fields of answers are, by name, or by shape and name where a
// shape means something of its own.
var properties = map[string]string{
	"success": "true; what failed is a problem",
}
