// Writes src/openapi.ts from the OpenAPI document: the types of all operations, and their routes.
//
//   npm run generate                    # from the document that the server's tests hold
//   npm run generate -- openapi.json    # from another one
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

export const document = new URL("../../../internal/api/rest/testdata/openapi.golden.json", import.meta.url);
export const generated = new URL("../src/openapi.ts", import.meta.url);

/** generate returns the text of src/openapi.ts for an OpenAPI document. */
export async function generate(spec) {
  // "May have more fields" would let a misspelt name pass the type checker.
  for (const schema of Object.values(spec.components.schemas)) {
    if (schema.additionalProperties === true) delete schema.additionalProperties;
  }
  // Every error is a Problem: no operation needs to say so nine times.
  for (const { responses } of Object.values(spec.paths).flatMap(Object.values)) {
    for (const status of Object.keys(responses)) if (Number(status) >= 400) delete responses[status];
  }
  const routes = Object.entries(spec.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters = [] }]) => {
      const largest = parameters.find((p) => p.name === "limit")?.schema.maximum ?? 0;
      return `  "${operationId}": ["${method.toUpperCase()}", ${JSON.stringify(path)}, ${largest}],\n`;
    }));
  return [
    "// Generated from the OpenAPI document by `npm run generate`. Do not edit.\n\n",
    astToString(await openapiTS(spec, { alphabetize: true, defaultNonNullable: false })),
    "\n/** The route of each operation, and how many rows a page of it has at most. */\nexport const routes = {\n",
    ...routes.sort(),
    "} as const satisfies Record<keyof operations, readonly [string, string, number]>;\n",
  ].join("");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const from = process.argv[2] ?? fileURLToPath(document);
  await writeFile(generated, await generate(JSON.parse(await readFile(from, "utf8"))));
}
