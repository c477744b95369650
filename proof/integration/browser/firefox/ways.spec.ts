import { go } from "../tests/cells.ts";
import { preferences, test } from "./person.ts";

test.use({ preferences });

go(test, "firefox", false);
