import { readFileSync } from 'node:fs'

import { defineConfig } from 'vitepress'
import type { DefaultTheme } from 'vitepress'

import { slugOf } from '../http-api.ts'

/** Written by build.ts beside the pages. */
const sidebar = JSON.parse(
  readFileSync(new URL('../.pages/sidebar.json', import.meta.url), 'utf8'),
) as DefaultTheme.SidebarItem[]

export default defineConfig({
  title: 'Everthread',
  description: 'Durable agent threads on Temporal, in TypeScript',
  lang: 'en',
  srcDir: '.pages',
  outDir: process.env['EVERTHREAD_SITE_OUT'] ?? 'dist',
  cacheDir: '.cache',
  head: [['link', { rel: 'icon', href: '/icon.svg' }]],
  markdown: {
    // Pages are Markdown of ours and docstrings: what looks like an element is text, and so is a mustache.
    html: false,
    linkify: false,
    anchor: { slugify: slugOf },
    config: (markdown) => {
      const text = markdown.renderer.rules.text
      markdown.renderer.rules.text = (...parts) =>
        (text?.(...parts) ?? markdown.utils.escapeHtml(parts[0][parts[1]]?.content ?? '')).replaceAll(
          '{{',
          '&#123;&#123;',
        )
    },
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/guide/agent' },
      { text: 'Reference', link: '/generated/configuration' },
      { text: 'HTTP API', link: '/http/' },
      { text: 'API', link: '/api/' },
      { text: 'Changes', link: '/changelog' },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local', options: { detailedView: false } },
  },
})
