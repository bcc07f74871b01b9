import { StoreError } from '../store-error.js'

/**
 * Node's SQLite without its ExperimentalWarning, which says nothing that a user of ours could act on.
 * Only that warning, and only while the module loads, is kept back.
 * @throws StoreError `unavailable` on a Node that has none
 */
export function loadSqlite(): typeof import('node:sqlite') {
  const original = Object.getOwnPropertyDescriptor(process, 'emitWarning')
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).includes('SQLite')) Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  try {
    // Older versions have no `getBuiltinModule`, or answer nothing: npm only warns of `engines`.
    const sqlite: typeof import('node:sqlite') | undefined = process.getBuiltinModule?.('node:sqlite')
    if (sqlite !== undefined) return sqlite
    throw new StoreError(
      'unavailable',
      `Expected Node 22.13 or later, which has SQLite built in, got ${process.version}: run this with a newer Node`,
    )
  } finally {
    if (original !== undefined) Object.defineProperty(process, 'emitWarning', original)
  }
}
