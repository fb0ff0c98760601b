import { EventEmitter } from 'node:events'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** Preloaded: file events never come, as on a network disk or with no watches left. */
fs.watch = (() => Object.assign(new EventEmitter(), { close() {}, ref() {}, unref() {} })) as never
syncBuiltinESMExports()
