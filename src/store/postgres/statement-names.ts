import { LIMITS } from '../../protocol/limits.js'

/**
 * Under its name a connection keeps a statement parsed and planned. One without a name is parsed and planned each time, which
 * takes the server longer than to run most of ours. Undefined: it goes without, for a connection keeps them until it ends,
 * and lists of each length are a statement of their own.
 */
export type NameStatement = (text: string) => string | undefined

export function createStatementNames(): NameStatement {
  const names = new Map<string, string>()
  return (text) => {
    const known = names.get(text)
    if (known !== undefined || names.size >= LIMITS.databaseStatements) return known
    const name = `everthread_${names.size}`
    names.set(text, name)
    return name
  }
}
