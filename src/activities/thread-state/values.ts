/**
 * The values and variables of one thread as one call sees and changes them.
 *
 * Invariants:
 * V1: a value is kept as JSON, so later changes of the code's object have no effect.
 * V2: the redactor gets each secret before the code does (T5).
 * V3: a variable that is declared a secret is stored as one, whatever type the code passes.
 */
import type { ThreadState } from '../../definitions/thread-state.js'
import { variableNameProblem, variableValueProblem } from '../../protocol/values.js'
import type { JsonValue } from '../../protocol/values.js'
import type { Store, Writer } from '../../store/store.js'
import { findVariables, getValue, putVariable, setValue } from '../../store/threads/variables.js'
import type { ActivityDependencies } from '../activity.js'
import type { Redactor } from '../variables/redactor.js'
import { declaredType, resolveVariables } from '../variables/variables.js'
import type { ResolvedVariable, VariableScope } from '../variables/variables.js'
import type { Journal } from './journal.js'
import { jsonCopy } from './strict-json.js'
import type { Micros } from '../../protocol/time.js'

/** Keys are in an index of the database, which bounds their length. */
const KEY_LENGTH = 256

/** A thread's values and variables as one call sees them. */
interface ValuesOverlay {
  readonly members: ValueMembers & VariableMembers
  /** Commits the values; variables are writes of the journal. */
  readonly commit: (tx: Writer) => Promise<void>
}

type ValueMembers = Pick<ThreadState, 'getValue' | 'setValue'>
type VariableMembers = Pick<ThreadState, 'env' | 'envType' | 'setEnv'>

interface ValuesOverlayOptions {
  readonly dependencies: ActivityDependencies
  readonly scope: VariableScope
  readonly journal: Journal
  /** Gets each secret (V2). */
  readonly redactor: Redactor
  readonly now: Micros
}

export function createValuesOverlay(options: ValuesOverlayOptions): ValuesOverlay {
  const { commit, ...values } = createBufferedValues(options.dependencies.store, options.scope.threadId)
  return { members: { ...values, ...createVariableMembers(options) }, commit }
}

function createBufferedValues(store: Store, threadId: string): ValueMembers & Pick<ValuesOverlay, 'commit'> {
  /** JSON texts (V1); undefined for a deleted value. */
  const written = new Map<string, string | undefined>()
  return {
    async getValue(key) {
      assertKey(key)
      if (!written.has(key)) return (await store.read((db) => getValue(db, threadId, key))) ?? null
      return parse(written.get(key)) ?? null
    },
    async setValue(key, value) {
      assertKey(key)
      written.set(
        key,
        value === undefined ? undefined : JSON.stringify(jsonCopy(value, `the value of "${key}"`)),
      )
    },
    async commit(tx) {
      for (const [key, text] of written) await setValue(tx, { threadId, key, value: parse(text) })
    },
  }
}

function parse(text: string | undefined): JsonValue | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as JsonValue)
}

function assertKey(key: unknown): void {
  if (typeof key === 'string' && key.length > 0 && key.length <= KEY_LENGTH) return
  const came = typeof key === 'string' ? `one of ${key.length}` : typeof key
  throw new Error(`Expected the key of a value to be a text of 1 to ${KEY_LENGTH} characters, got ${came}.`)
}

function createVariableMembers(options: ValuesOverlayOptions): VariableMembers {
  const { dependencies, scope, journal, redactor, now } = options
  const { store } = dependencies
  const { threadId } = scope
  const written = new Map<string, ResolvedVariable>()

  async function find(name: string): Promise<ResolvedVariable | undefined> {
    const problem = variableNameProblem(name)
    if (problem !== undefined) throw new Error(problem)
    return written.get(name) ?? (await resolveVariables(dependencies, scope, [name])).get(name)
  }

  /** Returns the type under which the variable is stored (V3). */
  async function typeFor(name: string, given: unknown): Promise<ResolvedVariable['type']> {
    if (given !== undefined && given !== 'text' && given !== 'secret')
      throw new Error('Expected the type of setEnv to be "text" or "secret", got something else.')
    const declared = declaredType(scope, name)
    if (declared === 'secret') return 'secret'
    if (given !== undefined) return given
    const known = written.get(name) ?? (await store.read((db) => findVariables(db, threadId, [name])))[0]
    return known?.type ?? declared ?? 'secret'
  }

  function disclose(name: string, type: ResolvedVariable['type'], value: string): string {
    if (type === 'secret') redactor.note(name, value)
    return value
  }

  return {
    async env(name) {
      const found = await find(name)
      if (found !== undefined) return disclose(name, found.type, found.open())
      throw new Error(
        `Expected the variable "${name}" to have a value, got none: set it on the thread, in the worker's env, ` +
          'or in the env of the agent or the prompt.',
      )
    },
    envType: async (name) => (await find(name))?.type ?? declaredType(scope, name) ?? 'secret',
    async setEnv(name, value, { type: wanted } = {}) {
      const problem = variableNameProblem(name) ?? variableValueProblem(name, value)
      if (problem !== undefined) throw new Error(problem)
      const type = await typeFor(name, wanted)
      // Without a key on this worker this throws to the code here, and not at the commit.
      if (type === 'secret') store.secrets.seal('', { threadId, name })
      // A text is stored in plain form and may get into prompts, so it must contain no secret.
      const kept = type === 'secret' ? disclose(name, type, value) : redactor.redact(value)
      journal.add(async (tx) => {
        await putVariable(tx, store.secrets, { threadId, name, value: kept, type, now })
        return { operations: [{ kind: 'set_env' }] }
      })
      written.set(name, { type: declaredType(scope, name) ?? type, open: () => kept })
    },
  }
}
