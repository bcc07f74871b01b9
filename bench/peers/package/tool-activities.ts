import { distinctText } from './turn.js'
import type { Turn } from './turn.js'

export interface Page {
  readonly page: number
}

/** The one tool of both agents, as an activity. */
export function toolActivities(turn: Turn) {
  return {
    async lookUp(_page: Page): Promise<string> {
      const text = distinctText(turn.resultLength)
      turn.done += 1
      return text
    },
  }
}

export type ToolActivities = ReturnType<typeof toolActivities>
