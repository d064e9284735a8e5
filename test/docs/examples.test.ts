import { expect, it } from "vitest";
import { blocksOf, page } from "./markdown.ts";

it("the guide to HTTP services shows the service of examples/express-service word by word", () => {
  const [shown] = blocksOf(page("docs/how-to/guard-an-http-service.md")).filter(
    ({ language, marks }) => language === "js" && marks[0] === "file",
  );
  expect(shown?.marks).toEqual(["file", "service.mjs"]);
  expect(shown?.text).toBe(page("examples/express-service/service.js"));
});
