/** Stands for a discovery where all tasks are counted. No discovery can be called so. */
export const TASKS = ':tasks'
