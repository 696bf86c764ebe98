declare module "*/python.mjs" {
  export function install(python: unknown, sources: Record<string, string>): void;
  export function engine(python: unknown): (request: string, progress: (line: string) => void) => string;
}
