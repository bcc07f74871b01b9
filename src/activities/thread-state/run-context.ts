import type { JsonObject, JsonValue } from '../../protocol/values.js'
import type { Store, Writer } from '../../store/store.js'
import { readRunContext, writeRunContext } from '../../store/threads/runs.js'
import type { RunKey } from '../../store/threads/runs.js'
import type { Redactor } from '../variables/redactor.js'
import { jsonProblem } from './strict-json.js'

/** What the calls of a run share, as one call changes it. */
export interface RunContext {
  /** Changed by the tool as it likes. */
  readonly value: Record<string, JsonValue | undefined>
  /** What it holds now is what is saved. */
  freeze(): void
  /** What would keep it from being saved as it is now. */
  looks(): string | undefined
  /** What keeps it from being saved, once it is frozen. */
  problem(): string | undefined
  /** Saves it if it changed and is JSON. */
  commit(tx: Writer): Promise<void>
}

interface OpenedContext {
  /** Outside of a run it is empty and nobody's. */
  readonly key: RunKey | null
  /** It is kept without the secrets that the call was given. */
  readonly redactor: Redactor
}

export async function openRunContext(store: Store, { key, redactor }: OpenedContext): Promise<RunContext> {
  const saved = JSON.stringify(key === null ? {} : await store.read((db) => readRunContext(db, key)))
  const value = JSON.parse(saved) as Record<string, JsonValue | undefined>
  let frozen: { readonly text: string } | { readonly problem: string } | undefined
  return {
    value,
    freeze() {
      if (frozen !== undefined) return
      const problem = jsonProblem(value, 'context')
      frozen = problem === undefined ? { text: JSON.stringify(redactor.redactJson(value)) } : { problem }
    },
    looks: () => jsonProblem(value, 'context'),
    problem: () => (frozen !== undefined && 'problem' in frozen ? frozen.problem : undefined),
    async commit(tx) {
      if (key === null || frozen === undefined || 'problem' in frozen || frozen.text === saved) return
      await writeRunContext(tx, key, JSON.parse(frozen.text) as JsonObject)
    },
  }
}
