import type { CreateThread, ThreadHandle } from '../../src/client/index.js'
import type { Permissions } from '../../src/policy/permissions.js'
import type { AgentName } from '../../src/definitions/registry.js'
import { createFamilyScripts } from './family-scripts.js'
import type { FamilyScript, Voices } from './family-scripts.js'
import { approve, create, order } from './kinds-replies.js'
import { marked } from './marker.js'
import { policyDesk } from './policy-desk.js'
import type { PolicyDesk } from './policy-desk.js'
import type { ModeEnvironment } from './three-modes.js'

export interface PolicyScenario extends FamilyScript {
  readonly agent?: AgentName<PolicyDesk>
  readonly given?: Pick<
    CreateThread,
    'permissions' | 'permissionMode' | 'interactive' | 'account' | 'userId' | 'tags'
  >
  /** Of the run that the first message begins. */
  readonly runPermissions?: Permissions
}

interface Started {
  readonly thread: ThreadHandle
  readonly voices: Voices
}

const scripts = createFamilyScripts(policyDesk)
export const { models, tools } = scripts
let number = 0

export const refund = order('refund')

/** Each kind of call, with its capability. */
export const KINDS = [
  ['a tool', 'orders.refund', refund],
  ['a prompt', 'texts.draft', order('draft')],
  ['a handoff', 'people.hand_over', order('chief')],
  ['a subagent', 'agents.run', order('runner')],
  ['a new instance of a subagent', 'agents.keep', create('resident')],
] as const

/** Starts threads of the policy desk in one mode, and counts what their calls do. */
export function policyDeskOf(mode: ModeEnvironment<PolicyDesk>) {
  const count = { refunds: 0 }
  async function start({
    agent = 'seller',
    given,
    runPermissions,
    voices,
    tools: behaviours,
  }: PolicyScenario): Promise<Started> {
    count.refunds = 0
    const id = `policy-${(number += 1)}-${mode.mode.replaceAll(' ', '-')}`
    const scripted = scripts.script(id, mode.env.store, {
      voices,
      tools: {
        refund: () => {
          count.refunds += 1
          return { status: 'success', result: marked('Refunded') }
        },
        ...behaviours,
      },
    })
    const message = { content: marked('Hello'), ...(runPermissions !== undefined && { runPermissions }) }
    const thread = await mode.env.threads.create({ agent, id, message, ...given })
    return { thread, voices: scripted }
  }

  const everyVoice = (
    ...seller: PolicyScenario['voices'][string] & readonly unknown[]
  ): PolicyScenario['voices'] => ({
    seller,
    draft: [{ text: marked('A draft') }],
    boss: [{ text: marked('I take over') }],
    worker: [{ text: marked('Work') }],
    judge: [approve()],
  })

  /** What has come of the call: refunds, nested steps, a new agent, children. */
  async function effectsOf({ thread, voices }: Started): Promise<number> {
    const { children } = await thread.snapshot()
    const { agent } = await thread.snapshot()
    const nested = voices['draft']?.requests.length ?? 0
    return count.refunds + nested + children.length + (agent === 'chief' ? 1 : 0)
  }

  async function requestOf(thread: ThreadHandle) {
    const [request] = (await thread.snapshot()).pending
    if (request === undefined) throw new Error('Expected a request.')
    return request
  }

  return { count, start, everyVoice, effectsOf, requestOf }
}
