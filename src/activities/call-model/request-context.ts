import type { Author } from '../../model/context/answer-parts.js'
import { BLANK_ROW } from '../../model/context/transcript-row.js'
import type { CallModelInput } from '../../protocol/activities.js'
import type { AttachmentRef } from '../../protocol/message.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ModelContent, PlanContent, PromptContent } from '../../definitions/plan-content.js'
import type { Inlining } from '../../model/context/inlined-files.js'
import type { Perspective } from '../../model/context/perspective.js'
import { textTokens } from '../../model/context/row-tokens.js'
import type { ModelRequest } from '../../model/stream-answer.js'
import type { TranscriptMessage } from '../../store/message-row.js'
import { microseconds } from './model-step.js'
import { requestSettings } from './request-settings.js'

/** What a nested step is asked, by the arguments of its call; it is no row of the transcript. */
export interface FrameMessage {
  readonly text: string
  readonly attachments: readonly AttachmentRef[]
}

interface Asked {
  readonly input: CallModelInput
  readonly content: PlanContent
  readonly prompt: PromptContent & { readonly name: string }
  readonly model: string
  readonly system: string
  readonly frameMessage: FrameMessage | null
  /** Behind all rows. */
  readonly note: string | null
}

/** What is the same for all rows of a request. */
export interface RequestContext {
  readonly perspective: Perspective
  readonly inlining: Inlining
  readonly author: Author
  readonly settings: Omit<ModelRequest, 'prompt'>
  /** Of system text, tools and the note. */
  readonly settingsTokens: number
  /** What rows, system text and tools may fill: the rest is for the answer, and for what the estimate misses. */
  readonly mostTokens: number
  readonly frameRow: TranscriptMessage | null
}

/** @throws for a model that the plan does not have: a bug of the caller */
export function requestContext(asked: Asked): RequestContext {
  const { input, content, prompt, model: name } = asked
  const model = Object.hasOwn(content.models, name) ? content.models[name] : undefined
  if (model === undefined) throw new Error(`The plan has no model ${name}.`)
  const perspective = { type: content.plan.type, side: input.side }
  const settings = requestSettings({ input, prompt, model })
  const author = {
    prompt: prompt.name,
    model: name,
    modelId: model.model,
    includesReasoning: prompt.reasoning?.include === true,
    reasons: prompt.reasoning !== null,
  }
  return {
    perspective,
    inlining: { senses: sensesOf(model), perspective, recent: prompt.recentImageThreshold, author },
    author,
    settings,
    settingsTokens: [asked.system, JSON.stringify(settings.tools ?? []), asked.note]
      .map(textTokens)
      .reduce((sum, tokens) => sum + tokens),
    mostTokens: (model.maxContextTokens ?? LIMITS.contextTokens) * LIMITS.contextShare,
    frameRow: asked.frameMessage === null ? null : frameRow(input, asked.frameMessage),
  }
}

function sensesOf({ supportsImages, supportsDocuments, supportsAudio }: ModelContent): Inlining['senses'] {
  return { images: supportsImages, documents: supportsDocuments, audio: supportsAudio }
}

/** As if the other side had said it. */
function frameRow(input: CallModelInput, { text, attachments }: FrameMessage): TranscriptMessage {
  return {
    ...BLANK_ROW,
    id: `${input.threadId}:frame`,
    role: 'user',
    content: text,
    created_at: microseconds(input),
    attachments,
    side: input.side === 'a' ? 'b' : 'a',
  }
}
