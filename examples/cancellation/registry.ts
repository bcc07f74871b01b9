import { openai } from '@ai-sdk/openai'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from 'everthread'
import { z } from 'zod'
import { setTimeout as sleep } from 'node:timers/promises'

/** Writes a report part by part, and notices at once that its run was cancelled. */
const write_report = defineTool({
  description: 'Write a report of some parts.',
  args: z.object({ parts: z.number() }),
  execute: async (state, { parts }) => {
    const signal = state.execution?.abortSignal
    const lines: string[] = []
    for (let part = 1; part <= parts; part += 1) {
      lines.push(`Part ${part}.`)
      console.log('part:', part)
      // What a call writes to its thread is kept with its result: a cancelled call has none.
      await state.writeFile('/report.txt', lines.join('\n'), 'text/plain')
      await sleep(200, undefined, signal === undefined ? {} : { signal })
    }
    return { status: 'success', result: `The report has ${parts} parts.` }
  },
})

/** An agent whose work takes long enough to be cancelled. */
export const reports = registry({
  agents: [defineAgent({ name: 'reporter', sideA: { prompt: 'reporting' } })],
  prompts: [
    definePrompt({
      name: 'reporting',
      toolDescription: 'Works',
      prompt: 'You write reports. Ask how many parts one is to have.',
      model: 'chat',
      includeChat: true,
      includePastTools: true,
      tools: ['write_report'],
    }),
  ],
  models: [defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })],
  tools: { write_report },
})
