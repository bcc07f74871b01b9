import type { Client } from '@temporalio/client'
import { WorkflowNotFoundError } from '@temporalio/common'
import { MockActivityEnvironment } from '@temporalio/testing'
import { z } from 'zod'
import type { ActivityDependencies } from '../../src/activities/activity.js'
import { prepareChild } from '../../src/activities/subagents/prepare-child.js'
import { prepareMessage } from '../../src/activities/subagents/prepare-message.js'
import { completeCall } from '../../src/activities/tool/complete-call.js'
import type { AnyHook } from '../../src/definitions/hook.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { LanguageModel } from '../../src/model/model-answer.js'
import type {
  CallInput,
  CompleteCallAnswer,
  CompleteCallInput,
  Completion,
  PrepareChildAnswer,
  PrepareChildInput,
  PrepareMessageAnswer,
} from '../../src/protocol/activities.js'
import type { Message } from '../../src/protocol/message.js'
import type { PreparedChild } from '../../src/protocol/status.js'
import { putFile } from '../../src/store/files/files.js'
import { findChild, listChildren } from '../../src/store/threads/children.js'
import type { ChildRecord } from '../../src/store/threads/children.js'
import { scriptedModel } from '../../src/testing/index.js'
import { attempt, drainOf, modelInput, NOW, PLAIN_CALL, runModel, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

export { NOW }

const files = z.union([z.string(), z.array(z.string())]).optional()
const MAPPED = { initUserMessageProperty: 'task', initAttachmentsProperty: 'files' } as const
const required = { required: true, scoped: true, description: 'Of it alone' } as const

function dualAgent<const Name extends string>(name: Name, prompt: 'plain' | 'guard' | 'vault_desk') {
  return defineAgent({
    ...{
      name,
      title: `The ${name}`,
      type: 'dual_ai',
      exposeAsTool: true,
      toolDescription: `Works as ${name}`,
    },
    sideA: { prompt },
    sideB: { prompt: 'plain' },
    maxSessionTurns: 4,
  })
}

/** An agent that has a subagent of each kind. */
function subagentRegistry(chat: LanguageModel, hooks: readonly AnyHook[]) {
  const made = registry({
    models: [defineModel({ name: 'chat', provider: { languageModel: () => chat }, model: 'm' })],
    prompts: [
      definePrompt({
        name: 'lead',
        toolDescription: 'Leads',
        prompt: 'You lead.',
        model: 'chat',
        includeChat: true,
        includePastTools: true,
        env: { NOTE: 'from the prompt' },
        variables: [
          { name: 'FLAG', type: 'text', required: false, description: 'Switches subagents on' },
          { name: 'TOKEN', type: 'secret', required: false, description: 'To hand on' },
        ],
        tools: [
          { name: 'helper', blocking: false, initAgentNameProperty: 'label', ...MAPPED },
          { name: 'asker', timeout: 5000, ...MAPPED },
          { name: 'crew', fanOut: true, initAgentNameProperty: 'label', ...MAPPED },
          { name: 'flagged', optional: 'FLAG', ...MAPPED },
          { name: 'herald', immediate: { scopedEnv: ['TOKEN', 'NOTE'] }, ...MAPPED },
          { name: 'vault', ...MAPPED },
          {
            ...{ name: 'resident', blocking: false, ...MAPPED },
            resumable: { receives_messages: 'side_b', maxInstances: 2 },
          },
          {
            ...{ name: 'steward', timeout: 7000 },
            resumable: { receives_messages: 'side_a', maxInstances: 1 },
          },
          { name: 'secluded', optional: 'FLAG', resumable: { receives_messages: 'side_a' } },
          { name: 'guarded', resumable: { receives_messages: 'side_a', maxInstances: 1 }, ...MAPPED },
        ],
      }),
      definePrompt({
        name: 'plain',
        toolDescription: 'Works',
        prompt: 'You work.',
        model: 'chat',
        requiredSchema: z.object({ task: z.string(), label: z.string().optional(), files }),
      }),
      definePrompt({
        name: 'guard',
        toolDescription: 'Guards',
        prompt: 'You guard.',
        model: 'chat',
        requiredSchema: z.object({ task: z.string(), files }),
        tools: ['open_door', { name: 'vault', ...MAPPED }],
      }),
      definePrompt({
        name: 'vault_desk',
        toolDescription: 'Keeps',
        prompt: 'You keep.',
        model: 'chat',
        requiredSchema: z.object({ task: z.string(), files }),
        variables: [
          { name: 'VAULT_KEY', type: 'secret', ...required },
          { name: 'VAULT_CITY', type: 'text', ...required },
        ],
        env: { VAULT_CITY: 'Bern' },
      }),
    ],
    agents: [
      defineAgent({ name: 'lead', sideA: { prompt: 'lead' } }),
      dualAgent('helper', 'plain'),
      dualAgent('asker', 'plain'),
      dualAgent('crew', 'plain'),
      dualAgent('flagged', 'plain'),
      dualAgent('herald', 'plain'),
      dualAgent('resident', 'plain'),
      dualAgent('steward', 'plain'),
      dualAgent('secluded', 'plain'),
      dualAgent('guarded', 'guard'),
      dualAgent('vault', 'vault_desk'),
    ],
    tools: {
      open_door: defineTool({
        description: 'Opens',
        variables: [{ name: 'DOOR_CODE', type: 'secret', ...required }],
        execute: () => ({ status: 'success' }),
      }),
    },
  })
  if (hooks.length === 0) return made
  return {
    ...made,
    hook: (id: string) => hooks.find((hook) => hook.id === id),
    prompt(name: string) {
      const prompt = made.prompt(name)
      return prompt && { ...prompt, hooks: hooks.map(({ id }) => id) }
    },
  }
}

export interface SubagentDesk extends Omit<ActivityDesk, 'call' | 'complete'> {
  /** A call of the thread `t`, run 1, that a model made. */
  call(name: string, args: unknown): Promise<CallInput>
  prepare(input: CallInput, patch?: Partial<PrepareChildInput>): Promise<PrepareChildAnswer>
  /** The children of a call that starts them. */
  children(name: string, args: unknown): Promise<{ input: CallInput; children: readonly PreparedChild[] }>
  child(name: string, args: unknown): Promise<PreparedChild & { readonly input: CallInput }>
  message(input: CallInput, status?: string | null): Promise<PrepareMessageAnswer>
  complete(input: CallInput, by: Completion): Promise<CompleteCallAnswer>
  result(): Promise<Message | undefined>
  registered(reference: string): Promise<ChildRecord | null>
  registry(): Promise<readonly ChildRecord[]>
  writeFile(path: string, threadId?: string): Promise<void>
}

export interface SubagentParts {
  readonly env?: Readonly<Record<string, string>>
  readonly hooks?: readonly AnyHook[]
  readonly secretKey?: string
}

/** 32 bytes, as hex. */
const SECRET_KEY = '1f'.repeat(32)

/** What Temporal says of a workflow; null: it has none of that name. */
function clientOf(status: string | null): Client {
  const describe = () =>
    status === null
      ? Promise.reject(new WorkflowNotFoundError('gone', 'c', undefined))
      : Promise.resolve({ status: { name: status } })
  const withAbortSignal = (_signal: AbortSignal, work: () => unknown): unknown => work()
  // Only what describes a child is called.
  return { withAbortSignal, workflow: { getHandle: () => ({ describe }) } } as unknown as Client
}

/** Runs `work` with an open thread `t` of the agent `lead`. */
export function withSubagents(
  { env = {}, hooks = [], secretKey = SECRET_KEY }: SubagentParts,
  work: (desk: SubagentDesk) => Promise<void>,
): Promise<void> {
  return withDesk({ secretKey }, async (desk) => {
    const { store } = desk
    const worker = (chat: LanguageModel): ActivityDependencies => ({
      ...{ ...desk.dependencies, env },
      registry: subagentRegistry(chat, hooks),
    })
    const dependencies = worker(scriptedModel([]))
    let run = 0
    const call: SubagentDesk['call'] = async (name, args) => {
      run += 1
      const chat = scriptedModel([{ toolCalls: [{ name, args }] }])
      const input = { ...modelInput({ drain: drainOf(await desk.send('Please.')) }), agent: 'lead', run }
      const answer = await runModel(worker(chat), input)
      if (answer.type !== 'answered') throw new Error(`Expected an answer, got ${answer.type}.`)
      const [made] = answer.calls
      if (made === undefined) throw new Error('Expected a call.')
      const { response: _response, ...plain } = PLAIN_CALL
      return {
        ...{ ...input, ...plain, promptPath: ['lead'], plan: answer.plan?.digest ?? '', callId: made.id },
        ...{ name: made.name, sideSteps: { a: 1, b: 0 }, first: true, last: true },
      }
    }
    const prepare: SubagentDesk['prepare'] = (input, patch = {}) =>
      attempt().run((given: PrepareChildInput) => prepareChild(dependencies, given), {
        ...{ ...input, children: 0, open: 0 },
        ...patch,
      })
    const children: SubagentDesk['children'] = async (name, args) => {
      const input = await call(name, args)
      const answer = await prepare(input)
      if (answer.type !== 'children') throw new Error(`Expected children, got ${answer.type}.`)
      return { input, children: answer.children }
    }
    await work({
      ...{ ...desk, dependencies, call, prepare, children },
      async child(name, args) {
        const { input, children: made } = await children(name, args)
        const [child] = made
        if (child === undefined) throw new Error('Expected a child, got none.')
        return { input, ...child }
      },
      message: (input, status = 'RUNNING') =>
        new MockActivityEnvironment(
          { workflowExecution: { workflowId: 't', runId: 'r' }, heartbeatTimeoutMs: 30_000 },
          { client: clientOf(status) },
        ).run((given: CallInput) => prepareMessage(dependencies, given), input),
      complete: (input, by) =>
        attempt().run((given: CompleteCallInput) => completeCall(dependencies, given), { ...input, by }),
      result: async () => (await desk.transcript()).findLast(({ role }) => role === 'tool'),
      registered: (reference) => store.read((db) => findChild(db, 't', reference)),
      registry: () => store.read((db) => listChildren(db, 't')),
      async writeFile(path, threadId = 't') {
        const { digest: blob, size } = await store.blobs.write(Buffer.from('bytes'))
        await store.write((tx) =>
          putFile(tx, { threadId, path, mimeType: 'text/plain', size, blob, now: NOW }),
        )
      },
    })
  })
}
