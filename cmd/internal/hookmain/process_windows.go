package hookmain

func noCoreFile() {}
