#!/usr/bin/env node
// `npm create everthread my-agent` is `everthread init my-agent`: the command itself writes the project.
import { readFileSync } from 'node:fs'

const place = import.meta.resolve('everthread/package.json')
const { bin } = JSON.parse(readFileSync(new URL(place), 'utf8'))
process.argv.splice(2, 0, 'init')
await import(new URL(bin.everthread, place).href)
