import type { Registry } from '../definitions/registry.js'
import { scopedVariables } from '../definitions/entry-variables.js'
import type { SecretBox } from '../store/secret-box.js'

interface Given {
  readonly secrets: Pick<SecretBox, 'keyIds'>
  /** Values that need no store. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * Says that a worker without a key cannot keep what its definitions call secret, before a thread finds out. Null: it has a
 * key, or needs none.
 */
export function secretKeyWarning(registry: Registry, { secrets, env }: Given): string | null {
  if (secrets.keyIds.length > 0) return null
  const { prompts, tools } = registry.names()
  const listed = prompts.flatMap((name) => registry.prompt(name) ?? [])
  const declarers = [...listed, ...tools.flatMap((name) => registry.tool(name) ?? [])]
  const declared = declarers.flatMap(({ variables = [] }) =>
    variables.filter(({ type, name }) => type === 'secret' && env[name] === undefined),
  )
  // What is handed on is stored, wherever it comes from.
  const names = new Set([...declared, ...listed.flatMap(scopedVariables)].map(({ name }) => name))
  if (names.size === 0) return null
  return (
    `This worker has no EVERTHREAD_SECRET_KEY, and its definitions have secrets (${[...names].join(', ')}): they cannot be ` +
    'stored. Set it to 32 bytes as base64 or hex, the same for all workers and clients.'
  )
}
