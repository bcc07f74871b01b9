import { z } from 'zod'
import type { AnyHook } from '../../src/definitions/hook.js'
import type { PromptDefinition } from '../../src/definitions/prompt.js'
import type { Registry } from '../../src/definitions/known-definitions.js'
import {
  defineAgent,
  defineModel,
  definePrompt,
  defineRemoteTool,
  defineTool,
  registry,
} from '../../src/index.js'
import type { ThreadState, ToolCall, ToolDefinition } from '../../src/index.js'
import type { LanguageModel } from '../../src/model/model-answer.js'
import { scriptedModel } from '../../src/testing/index.js'

export interface DeskParts {
  readonly chat?: LanguageModel
  /** What every tool does; what it answers is judged by what is tested. */
  readonly work?: (state: ThreadState, args: Record<string, unknown>, call: ToolCall) => unknown
  /** Of the tool `pay`. */
  readonly needsApproval?: ToolDefinition['needsApproval']
  /** Of the tool `work`. */
  readonly retry?: ToolDefinition['retry']
  /** More of the tool `work`. */
  readonly traits?: Pick<ToolDefinition, 'readOnly' | 'idempotent' | 'destructive' | 'timeout' | 'onError'>
  /** The tool `work` is an activity of another worker, on the task queue `q`, with the secret `API_KEY`. */
  readonly remote?: boolean
  /** Of the prompt `clerk`. */
  readonly memory?: Pick<PromptDefinition, 'includeChat' | 'includePastTools' | 'window' | 'compaction'>
  /** Listed by each prompt, in this order. */
  readonly hooks?: readonly AnyHook[]
  /** @default no key: secrets cannot be kept */
  readonly secretKey?: string
}

type Parts = Omit<DeskParts, 'hooks'>

const ALL = { includeChat: true, includePastTools: true } as const
const SESSION = { messageProperty: 'summary', attachmentsProperty: 'files' } as const
const SUBAGENT = { initUserMessageProperty: 'task', initAttachmentsProperty: 'files' } as const
const paths = z.union([z.string(), z.array(z.string())]).optional()
const ending = z.object({ summary: z.string().optional(), files: paths })
const asked = z.object({ question: z.string().optional(), files: paths })

/** An agent whose tools are of every kind, and who they lead to. */
export function deskRegistry({ hooks = [], ...parts }: DeskParts): Registry {
  const { chat = scriptedModel([]), memory = ALL } = parts
  const provider = { languageModel: () => chat }
  const made = registry({
    models: [defineModel({ name: 'chat', provider, model: 'm', inputPrice: 1, outputPrice: 2 })],
    prompts: [
      definePrompt({
        name: 'clerk',
        toolDescription: 'Answers',
        prompt: 'You are the clerk.',
        model: 'chat',
        ...memory,
        requiredSchema: z.object({ task: z.string(), files: paths }),
        tools: [
          ...(['work', 'again', 'slow', 'pay', 'finish', 'close_case', 'give_up', 'set_status'] as const),
          { name: 'digest', initUserMessageProperty: 'text', initAttachmentsProperty: 'files' },
          { name: 'expert', initUserMessageProperty: 'question', initAttachmentsProperty: 'files' },
          'broker',
          { name: 'pair', ...SUBAGENT },
        ],
      }),
      ...reachedPrompts(),
    ],
    agents: agents(),
    tools: tools(parts),
  })
  return withHooks(made, hooks)
}

/** As tools, as the prompt of an agent, or only by their name. */
function reachedPrompts() {
  return [
    definePrompt({
      name: 'digest',
      toolDescription: 'Digests',
      prompt: 'You digest.',
      model: 'chat',
      requiredSchema: z.object({ text: z.string(), files: paths, tone: z.string().default('plain') }),
      tools: [
        ...(['work', 'pay', 'finish', 'close_case'] as const),
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
      requiredSchema: asked,
    }),
  ] as const
}

function agents() {
  const expert = { prompt: 'expert_desk' } as const
  const two = { type: 'dual_ai', exposeAsTool: true, maxSessionTurns: 4 } as const
  return [
    defineAgent({
      name: 'clerk',
      sideA: {
        prompt: 'clerk',
        stopTool: 'finish',
        stopToolResponseProperty: 'words',
        sessionStop: { name: 'close_case', ...SESSION },
        sessionFail: { name: 'give_up', ...SESSION },
        sessionStatus: { name: 'set_status', messageProperty: 'text' },
      },
    }),
    defineAgent({
      name: 'expert',
      title: 'The expert',
      exposeAsTool: true,
      toolDescription: 'Knows more',
      sideA: expert,
    }),
    defineAgent({ name: 'broker', exposeAsTool: true, toolDescription: 'Trades', sideA: expert }),
    defineAgent({
      name: 'pair',
      ...two,
      toolDescription: 'Two who talk',
      sideA: { prompt: 'clerk', sessionStop: 'close_case' },
      sideB: { prompt: 'clerk' },
    }),
    defineAgent({ name: 'panel', ...two, toolDescription: 'Listed by nobody', sideA: expert, sideB: expert }),
  ] as const
}

const ELSEWHERE = { description: 'Works elsewhere', taskQueue: 'q', activity: 'work' } as const
const API_KEY = { name: 'API_KEY', type: 'secret', required: false, description: 'Of the service' } as const

function tools({
  work = () => ({ status: 'success' }),
  needsApproval = true,
  retry,
  traits,
  remote = false,
}: Parts) {
  const execute = work as never
  const task = z.object({ task: z.string().default('none') })
  return {
    work: remote
      ? defineRemoteTool({ ...ELSEWHERE, args: task, variables: [API_KEY] })
      : defineTool({
          description: 'Works',
          args: task,
          ...(retry !== undefined && { retry }),
          ...(traits as object),
          execute,
        }),
    again: defineTool({ description: 'Works again', idempotent: true, execute }),
    slow: defineTool({ description: 'Takes too long', timeout: 50, execute }),
    pay: defineTool({
      description: 'Pays',
      args: z.object({ amount: z.number() }),
      needsApproval: needsApproval as never,
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
    close_case: defineTool({ description: 'Closes', args: ending, execute }),
    give_up: defineTool({ description: 'Gives up', args: ending, execute }),
    loose: defineTool({ description: 'Listed by nobody', args: z.object({ n: z.number() }), execute }),
  }
}

/** The same definitions with hooks that each prompt lists. */
function withHooks(made: Registry, hooks: readonly AnyHook[]): Registry {
  return {
    ...made,
    hook: (id) => hooks.find((hook) => hook.id === id),
    prompt(name) {
      const prompt = made.prompt(name)
      return prompt && { ...prompt, hooks: hooks.map(({ id }) => id) }
    },
  }
}
