/**
 * Node's SQLite without its ExperimentalWarning, which says nothing that a user of ours could act on.
 * Only that warning, and only while the module loads, is kept back.
 */
export function loadSqlite(): typeof import('node:sqlite') {
  const original = Object.getOwnPropertyDescriptor(process, 'emitWarning')
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).includes('SQLite')) Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  try {
    return process.getBuiltinModule('node:sqlite')
  } finally {
    if (original !== undefined) Object.defineProperty(process, 'emitWarning', original)
  }
}
