import { z } from 'zod'
import type { ActivityDependencies } from '../../src/activities/activity.js'
import { executeTool } from '../../src/activities/tool/execute-tool.js'
import { registry } from '../../src/index.js'
import type { ModelDefinition, PromptDefinition, VariableDefinition } from '../../src/index.js'
import type { LanguageModel } from '../../src/model/model-answer.js'
import { MODEL_LIMITS } from '../../src/model/stream-answer.js'
import type { ModelLimits } from '../../src/model/stream-answer.js'
import type { CallModelAnswer, CallModelInput, ExecuteToolAnswer } from '../../src/protocol/activities.js'
import { insertChild } from '../../src/store/threads/children.js'
import type { NewChild } from '../../src/store/threads/children.js'
import { putVariable } from '../../src/store/threads/variables.js'
import { scriptedModel } from '../../src/testing/index.js'
import { attempt, drainOf, modelInput, NOW, PLAIN_CALL, runModel, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

export interface BossParts {
  readonly chat?: LanguageModel
  /** What the prompt of the agent `clerk` lists. */
  readonly tools: readonly unknown[]
  readonly prompt?: Partial<PromptDefinition>
  readonly variables?: readonly VariableDefinition[]
  readonly limits?: Partial<ModelLimits>
  readonly model?: Partial<ModelDefinition>
  /** Of the worker. */
  readonly env?: Readonly<Record<string, string>>
}

export interface BossDesk extends ActivityDesk {
  /** One step of the thread `t`, of a prompt that was active before; begun by a message that is new in the first. */
  step(patch?: Partial<CallModelInput>, environment?: ReturnType<typeof attempt>): Promise<CallModelAnswer>
  /** The first call of run 1, before the first step of the prompt. */
  activate(
    patch?: Partial<CallModelInput>,
    environment?: ReturnType<typeof attempt>,
  ): Promise<CallModelAnswer>
  /** Gives the thread these values, as texts. */
  give(values: Readonly<Record<string, string>>): Promise<void>
  child(child: Partial<NewChild> & { readonly reference: string }): Promise<void>
}

export const text = (name: string): VariableDefinition => ({
  ...{ name, type: 'text', required: false, description: name },
})

export const RESUMABLE = { resumable: { receives_messages: 'side_a' } } as const

/** A thread whose agent `clerk` may have `writer`, with arguments, and `helper`, without, as subagents. */
export async function withBoss(parts: BossParts, work: (desk: BossDesk) => Promise<void>): Promise<void> {
  await withDesk({}, async (desk) => {
    const ids = await desk.send('Hello?')
    const modelLimits = { ...MODEL_LIMITS, ...parts.limits }
    const { env = {} } = parts
    const dependencies: ActivityDependencies = {
      ...desk.dependencies,
      env,
      modelLimits,
      registry: bossRegistry(parts),
    }
    const step = (patch: Partial<CallModelInput>, environment?: ReturnType<typeof attempt>) =>
      runModel(dependencies, modelInput({ drain: drainOf(ids), ...patch }), environment)
    await work({
      ...desk,
      dependencies,
      step: (patch = {}, environment) => step(patch, environment),
      activate: (patch = {}, environment) => step({ activated: false, ...patch }, environment),
      give: (values) =>
        desk.store.write(async (tx) => {
          for (const [name, value] of Object.entries(values))
            await putVariable(tx, desk.store.secrets, { threadId: 't', name, value, type: 'text', now: 1 })
        }),
      child: (child) =>
        desk.store.write(async (tx) => {
          await insertChild(tx, {
            ...{ parent_thread_id: 't', call_id: 'c', agent: 'helper', name: 'helper', resumable: true },
            ...{ description: 'Helps.', blocking: true, created_at: NOW * 1000, status: 'running' },
            ...child,
          })
        }),
    })
  })
}

function bossRegistry({ chat = scriptedModel([]), tools, prompt = {}, variables = [], model }: BossParts) {
  const listing = {
    ...named('clerk'),
    prompt: 'You are the clerk.',
    includeChat: true,
    tools,
    variables,
    ...prompt,
  }
  const requiredSchema = z.object({
    topic: z.string(),
    tone: z.string().default('plain'),
    by: z.string().optional(),
  })
  const dual = { type: 'dual_ai', exposeAsTool: true, maxSessionTurns: 4 } as const
  // Entries are made here, so that the compiler cannot check them.
  return registry({
    models: [{ name: 'chat', provider: { languageModel: () => chat }, model: 'm', ...model }],
    prompts: [listing, { ...named('write'), requiredSchema }, named('help')],
    agents: [
      { name: 'clerk', sideA: { prompt: 'clerk' } },
      {
        name: 'pair',
        type: 'dual_ai',
        maxSessionTurns: 4,
        sideA: { prompt: 'help' },
        sideB: { prompt: 'clerk' },
      },
      agent('writer', 'write'),
      agent('helper', 'help'),
    ],
  } as never)

  function named(name: string) {
    return { name, toolDescription: name, prompt: `You ${name}.`, model: 'chat' }
  }

  function agent(name: string, sideA: string) {
    const sides = { sideA: { prompt: sideA }, sideB: { prompt: 'help' } }
    return { name, title: `The ${name}`, toolDescription: `A ${name}.`, ...dual, ...sides }
  }
}

/** Runs the only call of an answer as the workflow does. */
export async function runCall(
  { dependencies }: BossDesk,
  answer: CallModelAnswer,
): Promise<ExecuteToolAnswer> {
  if (answer.type !== 'answered') throw new Error(`Expected an answer, got ${answer.type}.`)
  const [call] = answer.calls
  if (call === undefined) throw new Error('Expected a call.')
  const given = {
    ...modelInput(),
    ...{ plan: answer.plan?.digest ?? '', callId: call.id, name: call.name, ...PLAIN_CALL },
    ...{ sideSteps: { a: 1, b: 0 }, first: true, last: true },
  }
  return attempt().run((input: typeof given) => executeTool(dependencies, input), given)
}
