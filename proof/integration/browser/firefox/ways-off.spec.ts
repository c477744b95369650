import { go } from "../tests/cells.ts";
import { preferences, test } from "./person.ts";

test.use({ preferences: { ...preferences, "javascript.enabled": false } });

go(test, "firefox", true);
