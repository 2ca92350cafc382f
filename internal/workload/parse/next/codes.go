package parse

// codeOf is what a tool has besides its declaration.
func codeOf(name string) code {
	switch name {
	case "boot-times":
		return code{split: splitBootTimes}
	}
	return code{}
}
