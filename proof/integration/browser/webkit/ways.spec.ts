import { go } from "../tests/cells.ts";
import { test } from "./person.ts";

go(test, "webkit", false);
