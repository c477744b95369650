package mark

// SaysPanic is saysPanic, for the types of libraries that are not imported here.
var SaysPanic = saysPanic
