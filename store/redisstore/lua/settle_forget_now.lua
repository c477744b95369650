call('DEL', key)
