import { pathToFileURL } from 'node:url'

/** The default export of a module, or the reason why it cannot be imported. */
export type DefaultExport =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string }

/** Files that Node can import (`.ts` with its own type stripping), without declarations, tests and hidden files. */
const MODULE = /^(?!.*(?:^|\/)\.)(?!.*\.d\.ts$)(?!.*\.(?:test|spec)\.\w+$)(.+)\.(?:js|mjs|ts)$/

/** The path of a file of definitions without its extension; undefined for any other file. */
export function moduleName(path: string): string | undefined {
  return MODULE.exec(path)?.[1]
}

/** Imports a file that holds one definition. `path` is for messages to its author. */
export async function importDefault(path: string, location: string): Promise<DefaultExport> {
  try {
    const module = (await import(pathToFileURL(location).href)) as Readonly<Record<string, unknown>>
    return { ok: true, value: module['default'] }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { ok: false, problem: `${path} cannot be imported: ${reason}` }
  }
}

/** The problem of a default export of another kind. `expected` is a noun. */
export function otherExport(path: string, expected: string, got: string): string {
  return `${path}: expected ${withArticle(expected)} as default export, got ${got}`
}

/** The word for a value in such a sentence. */
export function wordOf(value: unknown): string {
  if (value === undefined) return 'none'
  return value === null ? 'null' : withArticle(typeof value)
}

export function withArticle(noun: string): string {
  return /^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`
}
