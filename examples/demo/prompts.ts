import { definePrompt } from 'everthread'
import { z } from 'zod'

export const support_desk = definePrompt({
  name: 'support_desk',
  toolDescription: 'Answers customers',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  prompt:
    'You are the support desk of Acme Outdoor. For a question about what went wrong with a product, have it ' +
    'researched with the files that the customer attached, open one ticket for the workshop, then answer in ' +
    'three sentences. For a broken order open one ticket, refund it, then answer. When the outcome of opening ' +
    'a ticket is unknown, look whether it is there before you open another. Say in one sentence what you do ' +
    'before you do it.',
  tools: [
    { name: 'research', initUserMessageProperty: 'question', initAttachmentsProperty: 'files' },
    'open_ticket',
    'find_ticket',
    'refund_order',
  ],
})

export const researcher = definePrompt({
  name: 'researcher',
  toolDescription: 'Researches a question',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  // The arguments of the tool `research` as the support desk sees it.
  requiredSchema: z.object({
    question: z.string(),
    files: z
      .array(z.string())
      .default([])
      .describe('Paths of attached files that help, such as /attachments/a.md'),
  }),
  prompt:
    'You research what went wrong with a product. Read the attached files, write a short report that quotes ' +
    'the line on which it rests, then say in one sentence that the report is ready. A reviewer reads it.',
  tools: ['read_file', 'write_report'],
})

export const reviewer = definePrompt({
  name: 'reviewer',
  toolDescription: 'Reviews a report',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  prompt:
    'You review a report. Read /report.md. Approve it when it quotes its evidence, with a summary of one ' +
    'sentence; else say what is missing.',
  tools: ['read_file', 'approve'],
})
