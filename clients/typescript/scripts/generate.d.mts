export const document: URL;
export const generated: URL;
export function generate(spec: unknown): Promise<string>;
