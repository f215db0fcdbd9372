// Command reverie is the nightly memory of chat groups.
package main

import "reverie/cmd/reverie/command"

func main() { command.Main() }
