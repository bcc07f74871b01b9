import type { PlanContent, PromptContent } from '../../definitions/plan-content.js'
import type { CallInput } from '../../protocol/activities.js'
import { promptOf } from '../plan-content.js'

/** The prompt whose answer made a call: the last of its path, else that of its side. */
export function activePrompt(
  content: PlanContent,
  { side, promptPath }: Pick<CallInput, 'side' | 'promptPath'>,
): PromptContent & { readonly name: string } {
  const name = promptPath.at(-1)
  const prompt =
    name !== undefined && Object.hasOwn(content.prompts, name) ? content.prompts[name] : undefined
  return name === undefined || prompt === undefined ? promptOf(content, side) : { ...prompt, name }
}
