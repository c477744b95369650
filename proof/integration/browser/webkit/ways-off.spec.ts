import { go } from "../tests/cells.ts";
import { test } from "./person.ts";

test.use({ scripts: false });

go(test, "webkit", true);
