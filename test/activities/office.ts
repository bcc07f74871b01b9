import { z } from 'zod'

import { executeTool } from '../../src/activities/execute-tool/execute-tool.js'
import { completeCall } from '../../src/activities/complete-call/complete-call.js'
import type { ActivityDependencies } from '../../src/activities/dependencies.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { ThreadState, ToolCall, ToolDefinition } from '../../src/index.js'
import type { LanguageModel } from '../../src/model/language-model.js'
import type {
  CompleteCallAnswer,
  CompleteCallInput,
  Completion,
  ExecuteToolAnswer,
  ExecuteToolInput,
} from '../../src/protocol/activities.js'
import { answerRequest, findRequest } from '../../src/store/pending.js'
import type { Decision, PendingRecord } from '../../src/store/pending.js'
import { scriptedModel } from '../../src/testing/index.js'
import { NOW, PLAIN_CALL, attempt, drainOf, modelInput, runModel, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

type Work = (state: ThreadState, args: Record<string, unknown>, call: ToolCall) => unknown

export interface OfficeParts {
  readonly chat?: LanguageModel
  readonly work?: Work
  /** Of the tool `pay`. */
  readonly needsApproval?: ToolDefinition['needsApproval']
  readonly retry?: ToolDefinition['retry']
}

const files = z.union([z.string(), z.array(z.string())]).optional()

/** An agent whose front desk pays, asks, nests, hands over and ends its turn by a tool. */
function officeRegistry({
  chat = scriptedModel([]),
  work = () => ({ status: 'success' }),
  ...parts
}: OfficeParts) {
  const execute = work as never
  const { needsApproval = true, retry } = parts
  return registry({
    models: [
      defineModel({
        name: 'chat',
        provider: { languageModel: () => chat },
        model: 'm',
        inputPrice: 1,
        outputPrice: 2,
      }),
    ],
    prompts: [
      definePrompt({
        name: 'front',
        toolDescription: 'Front desk',
        prompt: 'You are the front desk.',
        model: 'chat',
        includeChat: true,
        includePastTools: true,
        tools: [
          'pay',
          'work',
          'finish',
          'close',
          'set_status',
          { name: 'digest', initUserMessageProperty: 'text', initAttachmentsProperty: 'files' },
          { name: 'expert', initUserMessageProperty: 'question', initAttachmentsProperty: 'files' },
          'broker',
        ],
      }),
      definePrompt({
        name: 'digest',
        toolDescription: 'Digests',
        prompt: 'You digest.',
        model: 'chat',
        requiredSchema: z.object({ text: z.string(), files, tone: z.string().default('plain') }),
        tools: [
          'work',
          'pay',
          'finish',
          'close',
          { name: 'quiet', includeToolCalls: false, includeErrors: false },
        ],
      }),
      definePrompt({
        name: 'quiet',
        toolDescription: 'Quiet',
        prompt: 'Quiet.',
        model: 'chat',
        tools: ['work'],
      }),
      definePrompt({
        name: 'hidden',
        toolDescription: 'Hidden',
        prompt: [
          { type: 'text', content: 'You are hidden at ' },
          { type: 'env', property: 'COMPANY' },
          { type: 'text', content: '.' },
        ],
        model: 'chat',
        variables: [{ name: 'COMPANY', type: 'text', required: true, description: 'Ours' }],
        env: { COMPANY: 'Acme' },
        requiredSchema: z.object({ topic: z.string() }),
        tools: ['work', 'pay'],
      }),
      definePrompt({
        name: 'expert_desk',
        toolDescription: 'Expert',
        prompt: 'You are the expert.',
        model: 'chat',
        requiredSchema: z.object({ question: z.string().optional(), files }),
      }),
    ],
    agents: [
      defineAgent({
        name: 'front',
        sideA: {
          prompt: 'front',
          stopTool: 'finish',
          stopToolResponseProperty: 'words',
          sessionStop: 'close',
          sessionStatus: { name: 'set_status', messageProperty: 'text' },
        },
      }),
      defineAgent({
        name: 'expert',
        title: 'The expert',
        exposeAsTool: true,
        toolDescription: 'Knows more',
        sideA: { prompt: 'expert_desk' },
      }),
      defineAgent({
        name: 'broker',
        exposeAsTool: true,
        toolDescription: 'Trades',
        sideA: { prompt: 'expert_desk' },
      }),
      defineAgent({
        name: 'pair',
        type: 'dual_ai',
        exposeAsTool: true,
        toolDescription: 'Two who talk',
        maxSessionTurns: 4,
        sideA: { prompt: 'expert_desk' },
        sideB: { prompt: 'expert_desk' },
      }),
    ],
    tools: {
      pay: defineTool({
        description: 'Pays',
        args: z.object({ amount: z.number() }),
        needsApproval: needsApproval as never,
        execute,
      }),
      work: defineTool({
        description: 'Works',
        args: z.object({ task: z.string().optional() }),
        ...(retry === undefined ? {} : { retry }),
        execute,
      }),
      finish: defineTool({
        description: 'Ends the turn',
        args: z.object({ words: z.string().optional() }),
        execute,
      }),
      set_status: defineTool({
        description: 'Tells how far it is',
        args: z.object({ text: z.string() }),
        execute,
      }),
      close: defineTool({ description: 'Ends the session', execute }),
      loose: defineTool({ description: 'Listed by nobody', args: z.object({ n: z.number() }), execute }),
    },
  })
}

export interface Office extends ActivityDesk {
  /** The same thread on a worker with other definitions. */
  worker(parts: OfficeParts): ActivityDependencies
  /** Calls that the model has made in step 1. */
  calls(
    calls: readonly { readonly name: string; readonly args?: unknown }[],
  ): Promise<readonly ExecuteToolInput[]>
  call(name: string, args?: unknown): Promise<ExecuteToolInput>
  run(input: ExecuteToolInput, dependencies?: ActivityDependencies): Promise<ExecuteToolAnswer>
  complete(input: ExecuteToolInput, by: Completion): Promise<CompleteCallAnswer>
  /** What a client writes before it tells the workflow. */
  decide(id: string, decision: Partial<Decision>): Promise<string>
  request(id: string): Promise<PendingRecord | null>
}

/** Runs `work` with an open thread `t` of the agent `front`. */
export function withOffice(parts: OfficeParts, work: (office: Office) => Promise<void>): Promise<void> {
  return withDesk({}, async (desk) => {
    const { store } = desk
    const worker = (other: OfficeParts): ActivityDependencies => ({
      ...desk.dependencies,
      registry: officeRegistry(other),
    })
    const dependencies = worker(parts)
    const calls: Office['calls'] = async (made) => {
      const chat = scriptedModel([{ toolCalls: made }])
      const drain = drainOf(await desk.send('Please.'))
      const input = { ...modelInput({ drain }), agent: 'front' }
      const answer = await runModel(worker({ ...parts, chat }), input)
      if (answer.type !== 'answered') throw new Error(`Expected an answer, got ${answer.type}.`)
      return answer.calls.map(({ id, name }, index) => ({
        ...input,
        ...PLAIN_CALL,
        plan: answer.plan?.digest ?? '',
        callId: id,
        name,
        promptPath: ['front'],
        sideSteps: { a: 1, b: 0 },
        first: index === 0,
        last: index === answer.calls.length - 1,
      }))
    }
    await work({
      ...desk,
      dependencies,
      worker,
      calls,
      async call(name, args = {}) {
        const [input] = await calls([{ name, args }])
        if (input === undefined) throw new Error('Expected a call.')
        return input
      },
      run: (input, on = dependencies) =>
        attempt().run((given: ExecuteToolInput) => executeTool(on, given), input),
      complete: (input, by) =>
        attempt().run((given: CompleteCallInput) => completeCall(dependencies, given), { ...input, by }),
      decide: (id, decision) =>
        store.write((tx) => answerRequest(tx, { threadId: 't', id, now: NOW * 1000, ...decision })),
      request: (id) => store.read((db) => findRequest(db, 't', id)),
    })
  })
}

/** The payloads of the thread's events of this type. */
export async function payloads(
  office: Pick<Office, 'events'>,
  type: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return (await office.events()).filter((event) => event.type === type).map(({ payload }) => payload)
}
