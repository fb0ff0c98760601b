import '../node-version.ts'

export { type OpenTelemetryOptions, openTelemetry } from './open-telemetry.ts'
