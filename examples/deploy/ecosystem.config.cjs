// PM2: pm2 start ecosystem.config.cjs && pm2 save
module.exports = {
  apps: [
    {
      name: 'gleaner',
      script: 'node_modules/gleaner/dist/cli/bin.js',
      args: 'start',
      cwd: __dirname,
      // One supervisor. It starts the worker processes itself: the pools of the config say how many.
      exec_mode: 'fork',
      instances: 1,
      // The signal goes to the supervisor alone, which drains its workers: 10 s to finish, 2 s to exit, then it ends them.
      treekill: false,
      kill_timeout: 30_000,
      // `gleaner start` exits with 11 if the database is away, and with 2 if the command line is wrong.
      exp_backoff_restart_delay: 1_000,
      stop_exit_codes: [2],
    },
  ],
}
