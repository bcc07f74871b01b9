import type { SeededRandom } from '../../test/support/seeded-random.js'
import type { Program, ProgramCall } from '../desk/program.js'
import { programText, refOf } from '../desk/program.js'
import { stampedName } from '../desk/chaos-files.js'

interface Setting {
  readonly id: string
  /** Names of files that come with the message. */
  readonly files: readonly string[]
  /** Names of instances that were created before; one that this program creates is added. */
  readonly keepers: string[]
}

const SIMPLE = ['book', 'book', 'charge', 'retrying', 'permit', 'note', 'remind'] as const
const OF_A_CHILD = ['book', 'charge', 'note'] as const
const LONGEST_PAUSE = 700

/** One to three steps of one or two calls; a call of a subagent stands alone in its step. */
export function makeProgram(random: SeededRandom, setting: Setting): Program {
  const { id } = setting
  const count = 1 + random.below(3)
  const steps: (readonly ProgramCall[])[] = []
  for (let step = 0; step < count; step += 1)
    steps.push(
      random.chance(0.35)
        ? [subagentCall(random, setting, refOf(id, step, 0))]
        : Array.from({ length: 1 + random.below(2) }, (_, call) =>
            simpleCall(random, setting, refOf(id, step, call)),
          ),
    )
  const [keeper] = setting.keepers
  if (keeper !== undefined && random.chance(0.6))
    steps.push([messageCall(random, setting, { ref: refOf(id, count, 0), keeper })])
  return { id, steps }
}

function work(random: SeededRandom, ref: string) {
  return { ref, before: random.below(LONGEST_PAUSE), after: random.below(LONGEST_PAUSE) }
}

function simpleCall(random: SeededRandom, { files }: Setting, ref: string): ProgramCall {
  const [file] = files
  if (file !== undefined && random.chance(0.4))
    return { tool: 'stamp', args: { ...work(random, ref), path: `/attachments/${file}` } }
  if (random.chance(0.1)) {
    const inner = { tool: 'book', args: work(random, refOf(inside(ref), 0, 0)) }
    return { tool: 'outline', args: { task: `${ref} ${programText({ id: inside(ref), steps: [[inner]] })}` } }
  }
  return { tool: random.pick(SIMPLE), args: work(random, ref) }
}

const KINDS = ['helper', 'runner', 'crew', 'swarm', 'partner', 'keeper', 'scout'] as const

function subagentCall(random: SeededRandom, setting: Setting, ref: string): ProgramCall {
  const kind = random.pick(KINDS)
  const { files, keepers } = setting
  const paths = files.map((file) => `/attachments/${file}`)
  if (kind === 'helper' || kind === 'runner')
    return { tool: kind, args: { task: task(random, setting, inside(ref), ref), files: paths } }
  if (kind === 'crew' || kind === 'swarm') {
    const items = Array.from({ length: 2 + random.below(3) }, (_, item) => ({
      task: task(random, setting, `${inside(ref)}-${item}`, ref),
      files: paths,
    }))
    return { tool: kind, args: { items } }
  }
  keepers.unshift(ref)
  const message = task(random, { ...setting, tells: kind === 'scout' }, inside(ref), ref)
  return { tool: 'subagent_create', args: { agent: kind, name: ref, message, attachments: paths } }
}

function messageCall(
  random: SeededRandom,
  setting: Setting,
  { ref, keeper }: { readonly ref: string; readonly keeper: string },
): ProgramCall {
  const message = task(random, { ...setting, files: [] }, inside(ref), ref)
  return { tool: 'subagent_message', args: { referenceId: `@${keeper}`, message, attachments: [] } }
}

/** The words for a subagent: what it does, and how it ends; now and then it has a helper of its own. */
function task(
  random: SeededRandom,
  { files, tells = false }: Pick<Setting, 'files'> & { readonly tells?: boolean },
  id: string,
  ref: string,
): string {
  const steps: (readonly ProgramCall[])[] = [
    [{ tool: random.pick(OF_A_CHILD), args: work(random, refOf(id, 0, 0)) }],
  ]
  const next = (): string => refOf(id, steps.length, 0)
  const [file] = files
  if (file !== undefined)
    steps.push([{ tool: 'stamp', args: { ...work(random, next()), path: `/attachments/${file}` } }])
  if (tells) steps.push([{ tool: 'tell', args: work(random, next()) }])
  if (random.chance(0.15) && !id.startsWith('in-in')) {
    const child = task(random, { files: [] }, inside(next()), next())
    steps.push([{ tool: 'helper', args: { task: child, files: [] } }])
  }
  const summary = `Result of ${ref}`
  const results = file === undefined ? [] : [`/attachments/${stampedName(file)}`]
  const end = random.chance(0.1) ? 'give_up' : 'deliver'
  steps.push([{ tool: end, args: { ref: next(), summary, files: results } }])
  return `${ref} ${programText({ id, steps })}`
}

/** Of the program inside a call. */
function inside(ref: string): string {
  return `in-${ref.slice(1, -1)}`
}
